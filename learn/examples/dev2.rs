//! dev
use foretell_learn::*;
fn main() {
    let a: Vec<String> = std::env::args().skip(1).collect();
    let d = "/work/shared/data/regression";
    let table = Table::read(std::fs::File::open(format!("{d}/{}.csv", a[0])).unwrap(), &a[0], &[]).unwrap();
    let data = Dataset::new(&table, "y", &[]).unwrap();
    let folds = Folds::read(std::fs::File::open(format!("{d}/{}.folds.csv", a[0])).unwrap(), "f", data.y.len()).unwrap();
    let spec: Spec = a[1].parse().unwrap();
    let p = out_of_fold(&spec, &data, &folds, a.get(2).is_some(), std::num::NonZeroUsize::MIN).unwrap();
    let mut e: Vec<(f64, usize)> = (0..p.len()).map(|i| ((p[i]-data.y[i]).powi(2), i)).collect();
    e.sort_by(|a,b| b.0.total_cmp(&a.0));
    let s: f64 = e.iter().map(|e| e.0).sum();
    for (q, i) in &e[..12] { println!("{:.3} row {i} fold y {} p {} x {:?}", q/s, data.y[*i], p[*i], (0..data.x.columns()).map(|c| data.x.get(*i,c)).collect::<Vec<_>>()); }
    for f in 0..10 { let (_, t) = folds.split(f); println!("fold {f} share {:.3}", t.iter().map(|&r| (p[r]-data.y[r]).powi(2)).sum::<f64>()/s); }
}
