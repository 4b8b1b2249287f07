//! dev
use foretell_learn::*;
fn main() {
    let a: Vec<String> = std::env::args().skip(1).collect();
    let table = Table::read(std::fs::File::open(format!("/work/shared/data/regression/{}.csv", a[0])).unwrap(), &a[0], &[]).unwrap();
    let data = Dataset::new(&table, "y", &[]).unwrap();
    let spec: Spec = a[1].parse().unwrap();
    let t = Trained::fit(&spec, &data, a.get(2).is_some()).unwrap();
    print!("{}", t.describe());
}
