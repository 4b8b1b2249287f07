//! A slab: values at stable `u32` indices. Freed places are reused.

/// Values of type `T` at indices that stay valid until the value is removed.
///
/// A build with debug assertions detects the use of a freed place.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    places: Vec<T>,
    free: Vec<u32>,
    #[cfg(debug_assertions)]
    taken: Vec<bool>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Slab<T> {
    /// An empty slab.
    pub const fn new() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
            #[cfg(debug_assertions)]
            taken: Vec::new(),
        }
    }

    /// Stores `value` and returns its index.
    pub fn insert(&mut self, value: T) -> u32 {
        let index = if let Some(index) = self.free.pop() {
            self.places[index as usize] = value;
            index
        } else {
            let index = u32::try_from(self.places.len()).expect("fewer than 2^32 at a time");
            self.places.push(value);
            #[cfg(debug_assertions)]
            self.taken.push(false);
            index
        };
        #[cfg(debug_assertions)]
        {
            self.taken[index as usize] = true;
        }
        index
    }

    /// Frees the place of `index`. Its value can still be read through the returned reference.
    pub fn remove(&mut self, index: u32) -> &mut T {
        self.assert_taken(index);
        #[cfg(debug_assertions)]
        {
            self.taken[index as usize] = false;
        }
        self.free.push(index);
        &mut self.places[index as usize]
    }

    /// All places, including freed ones: the caller's values must distinguish them.
    pub fn places(&self) -> impl Iterator<Item = &T> {
        self.places.iter()
    }

    /// The indices of stored values, in order. Takes time in proportion to all places.
    pub fn kept(&self) -> impl Iterator<Item = u32> + use<T> {
        let mut is_free = vec![false; self.places.len()];
        for &index in &self.free {
            is_free[index as usize] = true;
        }
        is_free.into_iter().enumerate().filter(|(_, free)| !free).map(|(index, _)| index as u32)
    }

    /// Number of stored values.
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Whether no value is stored.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[cfg_attr(not(debug_assertions), expect(clippy::unused_self, reason = "costs too much then"))]
    fn assert_taken(&self, index: u32) {
        #[cfg(debug_assertions)]
        assert!(self.taken[index as usize], "place {index} was given up");
        #[cfg(not(debug_assertions))]
        let _ = index;
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;
    fn index(&self, index: u32) -> &T {
        self.assert_taken(index);
        &self.places[index as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    fn index_mut(&mut self, index: u32) -> &mut T {
        self.assert_taken(index);
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
        slab.remove(a);
        assert_eq!(slab.kept().collect::<Vec<_>>(), [b]);
    }
}
