//! A slab: values at stable `u32` indices, freed places used again.

/// Values of type `T` at indices that stay valid until the value is removed.
#[derive(Clone, Debug)]
pub(crate) struct Slab<T> {
    places: Vec<T>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    /// An empty slab.
    pub(crate) const fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    /// Keeps `value` and returns its index.
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if let Some(index) = self.free.pop() {
            self.places[index as usize] = value;
            index
        } else {
            let index = u32::try_from(self.places.len()).expect("fewer than 2^32 at a time");
            self.places.push(value);
            index
        }
    }

    /// Gives the place of `index` up. Its value stays there until the place is used again.
    pub(crate) fn remove(&mut self, index: u32) -> &mut T {
        self.free.push(index);
        &mut self.places[index as usize]
    }

    /// How many values are kept.
    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Whether nothing is kept.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;
    fn index(&self, index: u32) -> &T {
        &self.places[index as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self.places[index as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_place_is_used_again() {
        let mut slab = Slab::new();
        let (a, b) = (slab.insert('a'), slab.insert('b'));
        assert_eq!(*slab.remove(a), 'a');
        assert_eq!(slab.insert('c'), a);
        assert_eq!((slab[a], slab[b], slab.len()), ('c', 'b', 2));
    }
}
