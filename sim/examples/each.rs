use foretell_scenarios::diskspecs::import_file;
use foretell_sim::disk::drive::Drive;
use foretell_sim::disk::replay::{read_trace, replay};
use std::io::BufReader;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    for pair in args[1..].chunks(3) {
        let import =
            import_file(std::path::Path::new(&pair[0]), None).unwrap_or_else(|e| panic!("{e}"));
        let trace = read_trace(BufReader::new(std::fs::File::open(&pair[1]).unwrap())).unwrap();
        let times = replay(&mut Drive::new(&import.drive), &trace);
        let text: String = times.iter().map(|t| format!("{:.6}\n", t.as_ms_f64())).collect();
        std::fs::write(&pair[2], text).unwrap();
    }
}
