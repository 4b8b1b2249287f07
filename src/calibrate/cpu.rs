//! `foretell calibrate cpu`: the cost of the codecs on this host.
//!
//! Two things are measured. First, the demand of a request in each encoding: the client's work is done many
//! times, as in the CPU What-if module of Thereska et al. 2006 (III-C.4, Figure 3). Second, the costs of a
//! processor profile, each separately at several sizes. Beside each demand the table shows what `run` charges
//! with that profile: nothing for copying fragments, and for erasure coding a cost by the number of passes,
//! whatever m and n.

use std::fmt::Write as _;
use std::path::Path;

use foretell_algorithms::codec::{Cipher, Encoding};
use foretell_core::calibrate::cost::{Fit, fit};
use foretell_files::FileKind;
use foretell_scenarios::model::{Cost, CpuProfile};
use foretell_units::{Bytes, SimSpan};
use serde_json::{Value, json};

use super::codecs::{self, BlockCost};
use super::machine::Machine;
use super::profile::{self, Notes, assumed};
use super::sockets;
use super::stopwatch::Stopwatch;
use crate::cli::CalibrateCpuArguments;
use crate::failure::Failure;
use crate::screen::fitted;
use crate::tables::{number, table};

/// The largest request; with larger ones, a measurement takes minutes.
const LARGEST: Bytes = Bytes::mib(64);

/// What a profile says of its source.
const FILE: FileKind<'_> = FileKind::beginning("a profile of `foretell calibrate cpu`", "# ")
    .and_saying(", measured.\nsource = \"\"\"\\\nMeasured by `foretell calibrate cpu`");

/// Runs the command.
pub(super) fn calibrate(arguments: &CalibrateCpuArguments) -> Result<(), Failure> {
    let name = match &arguments.output {
        Some(path) => {
            foretell_files::check(path, FILE)?;
            profile_name(path)?
        }
        None => "here".to_owned(),
    };
    if arguments.request == Bytes::ZERO || arguments.request > LARGEST {
        let request = arguments.request;
        let fault =
            format!("`--request {request}`: a request has at least 1 B and at most {LARGEST}");
        return Err(Failure::Usage(fault));
    }
    let measured = Measured::on_this_host(arguments, name)?;
    let text = profile::text(&measured.profile, &measured.machine, &measured.notes);
    if let Some(path) = &arguments.output {
        foretell_files::write(path, FILE, text.as_bytes())?;
    }
    let printed =
        if arguments.json { measured.json(arguments) } else { measured.text(arguments, &text) };
    crate::output::print(&printed)
}

/// The name by which scenarios refer to the profile at `path`.
pub(super) fn profile_name(path: &Path) -> Result<String, Failure> {
    let stem = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".toml"));
    // the rule of scenarios for names
    let good = |name: &&str| {
        name.len() <= 64
            && name.starts_with(|first: char| first.is_ascii_alphanumeric())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '+'))
    };
    stem.filter(good).map(str::to_owned).ok_or_else(|| {
        Failure::Usage(format!(
            "`{}` is not a name for the file of a profile; call it NAME.toml, where NAME has letters, \
             digits, `-`, `_`, `.` and `+`, such as `cpus/my-server.toml`",
            path.display()
        ))
    })
}

/// Measurements of this host.
struct Measured {
    machine: Machine,
    blocks: Vec<BlockCost>,
    /// Name and fit of each measured cost.
    fits: Vec<(&'static str, Fit)>,
    profile: CpuProfile,
    notes: Notes,
}

impl Measured {
    fn on_this_host(arguments: &CalibrateCpuArguments, name: String) -> Result<Self, Failure> {
        let machine = Machine::this();
        let stopwatch = Stopwatch::new(arguments.operations);
        let encodings = each_once(&arguments.encodings);
        let mut blocks = Vec::new();
        for &encoding in &encodings {
            for &cipher in Cipher::ALL {
                let request = arguments.request;
                blocks.push(codecs::block_cost(&stopwatch, encoding, cipher, request)?);
            }
        }
        let coded = coded(&encodings);
        let [encrypt, decrypt] = codecs::cipher_costs(&stopwatch)?.map(|points| fit(&points));
        let code = fit(&codecs::code_costs(&stopwatch, &coded)?);
        let copy = fit(&codecs::copy_costs(&stopwatch)?);
        let mut fits =
            vec![("copy", copy), ("encrypt", encrypt), ("decrypt", decrypt), ("code", code)];
        let mut messages = (assumed::SEND, assumed::RECEIVE);
        let mut no_sockets = None;
        match sockets::message_costs(&stopwatch)? {
            Ok(costs) => {
                let (send, receive) = (fit(&costs.send), fit(&costs.receive));
                messages = (send.cost, receive.cost);
                fits.splice(0..0, [("send", send), ("receive", receive)]);
            }
            Err(error) => no_sockets = Some(error.to_string()),
        }
        let profile = CpuProfile {
            name,
            cores: machine.cores,
            smt: None,
            quantum: assumed::QUANTUM,
            context_switch: assumed::CONTEXT_SWITCH,
            request: assumed::REQUEST,
            send: messages.0,
            receive: messages.1,
            copy: copy.cost,
            encrypt: encrypt.cost,
            decrypt: decrypt.cost,
            code: code.cost,
            post: assumed::POST,
        };
        let coded: Vec<String> = coded.iter().map(Encoding::to_string).collect();
        let operations = arguments.operations;
        let notes = Notes { operations, coded: coded.join(", "), no_sockets };
        Ok(Self { machine, blocks, fits, profile, notes })
    }

    /// The results as text.
    fn text(&self, arguments: &CalibrateCpuArguments, profile: &str) -> String {
        let mut text = format!("{}, {} cores\n", self.machine.processor, self.machine.cores);
        let _ = writeln!(
            text,
            "\nClient CPU for a request of {}, us (Thereska et al. 2006, Figure 3)",
            arguments.request
        );
        let mut demands = table(&[
            "encoding",
            "cipher",
            "encode",
            "by profile",
            "decode",
            "by profile",
            "rebuild",
            "by profile",
        ]);
        for block in &self.blocks {
            let charged = self.charged(block.encoding, block.cipher, arguments.request);
            let us = |ns: f64| number(ns / 1e3);
            let charged = charged.map(|span| us(span.as_ns() as f64));
            let [encode, decode, rebuild] = charged;
            demands.add_row([
                block.encoding.to_string(),
                block.cipher.to_string(),
                us(block.encode_ns),
                encode,
                us(block.decode_ns),
                decode,
                block.rebuild_ns.map_or_else(String::new, us),
                block.rebuild_ns.map_or_else(String::new, |_| rebuild),
            ]);
        }
        let _ = writeln!(text, "{}", fitted(&demands, 2));
        let _ = writeln!(
            text,
            "encode: a write; decode: a read; rebuild: a read of the last m fragments\n\n\
             The profile's costs: a fixed part, and a part by size"
        );
        let mut costs = table(&["", "fixed", "rate", "off by at most"]);
        for (name, Fit { cost, worst }) in &self.fits {
            costs.add_row([
                (*name).to_owned(),
                profile::span(cost.fixed),
                cost.rate.map_or_else(String::new, profile::rate),
                format!("{:.0} %", worst * 100.0),
            ]);
        }
        let _ = writeln!(text, "{}", fitted(&costs, 1));
        if let Some(error) = &self.notes.no_sockets {
            let _ = writeln!(text, "send and receive are assumed: loopback failed ({error})");
        }
        let _ = match &arguments.output {
            Some(path) => writeln!(
                text,
                "\nWritten to {}; a scenario beside the directory `cpus` can use it as `{}`",
                path.display(),
                self.profile.name
            ),
            None => writeln!(text, "\nThe profile\n\n{profile}"),
        };
        text
    }

    /// The time that `run` charges a client with this profile: for a write, for a read, and for a read of the
    /// last m fragments.
    fn charged(&self, encoding: Encoding, cipher: Cipher, size: Bytes) -> [SimSpan; 3] {
        let CpuProfile { encrypt, decrypt, code, .. } = self.profile;
        let sealed =
            |cost: Cost| if cipher == Cipher::None { SimSpan::ZERO } else { cost.of(size) };
        let coded = |passes: u64| if passes == 0 { SimSpan::ZERO } else { code.of(size * passes) };
        let lost = if encoding.is_replication() { 0 } else { codecs::most_lost(encoding) };
        [
            sealed(encrypt) + coded(codecs::passes(encoding)),
            sealed(decrypt),
            sealed(decrypt) + coded(lost),
        ]
    }

    /// The results as one JSON document.
    fn json(&self, arguments: &CalibrateCpuArguments) -> String {
        let us = |span: SimSpan| span.as_ns() as f64 / 1e3;
        let blocks: Vec<Value> = self
            .blocks
            .iter()
            .map(|block| {
                let [encode, decode, rebuild] =
                    self.charged(block.encoding, block.cipher, arguments.request);
                json!({
                    "encoding": block.encoding.to_string(),
                    "cipher": block.cipher.name(),
                    "encode_us": block.encode_ns / 1e3,
                    "decode_us": block.decode_ns / 1e3,
                    "rebuild_us": block.rebuild_ns.map(|ns| ns / 1e3),
                    "encode_by_profile_us": us(encode),
                    "decode_by_profile_us": us(decode),
                    "rebuild_by_profile_us": block.rebuild_ns.map(|_| us(rebuild)),
                })
            })
            .collect();
        let worst: serde_json::Map<String, Value> =
            self.fits.iter().map(|(name, fit)| ((*name).to_owned(), json!(fit.worst))).collect();
        let cost = |cost: Cost| {
            json!({
                "fixed_ns": cost.fixed.as_ns(),
                "rate_bytes_per_s": cost.rate.map(foretell_units::Rate::as_bytes_per_s_f64),
            })
        };
        let profile = &self.profile;
        let document = json!({
            "processor": self.machine.processor,
            "platform": self.machine.platform,
            "version": env!("CARGO_PKG_VERSION"),
            "operations": arguments.operations,
            "request_bytes": arguments.request.get(),
            "encodings": blocks,
            "profile": {
                "name": profile.name,
                "cores": profile.cores,
                "quantum_ns": profile.quantum.as_ns(),
                "context_switch_ns": profile.context_switch.as_ns(),
                "request": cost(profile.request),
                "send": cost(profile.send),
                "receive": cost(profile.receive),
                "copy": cost(profile.copy),
                "encrypt": cost(profile.encrypt),
                "decrypt": cost(profile.decrypt),
                "code": cost(profile.code),
                "post_ns": profile.post.as_ns(),
            },
            "largest_error": worst,
            "file": arguments.output.as_ref().map(|path| path.display().to_string()),
        });
        crate::output::json(&document)
    }
}

/// The encodings that need arithmetic. If none does, 3-of-5, as a profile must contain the cost of coding.
fn coded(encodings: &[Encoding]) -> Vec<Encoding> {
    let mut coded: Vec<Encoding> = encodings.to_vec();
    coded.retain(|encoding| codecs::passes(*encoding) > 0);
    if coded.is_empty() {
        coded.push(Encoding::new(3, 5).expect("3 of 5 is an encoding"));
    }
    coded
}

fn each_once(encodings: &[Encoding]) -> Vec<Encoding> {
    let mut once = Vec::new();
    for encoding in encodings {
        if !once.contains(encoding) {
            once.push(*encoding);
        }
    }
    once
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_called_as_its_file() {
        assert_eq!(profile_name("cpus/xeon-2.6.toml".as_ref()).unwrap(), "xeon-2.6");
        for path in ["cpus", "a.json", ".toml", "cpus/my server.toml", "-x.toml", "é.toml"] {
            let fault = profile_name(path.as_ref()).unwrap_err().to_string();
            assert!(fault.contains(&format!("`{path}`")) && fault.contains("NAME.toml"), "{fault}");
        }
    }

    #[test]
    fn coding_is_always_measured() {
        let encodings = |texts: &[&str]| -> Vec<Encoding> {
            texts.iter().map(|text| text.parse().unwrap()).collect()
        };
        assert_eq!(coded(&encodings(&["1-of-3", "2-of-2"])), encodings(&["3-of-5"]));
        assert_eq!(coded(&encodings(&["1-of-3", "4-of-6"])), encodings(&["4-of-6"]));
    }
}
