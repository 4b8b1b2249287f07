//! Processor profiles: raw profiles are checked here.

use crate::check::Context;
use crate::error::Problem;
use crate::model::{Cost, CpuProfile};
use crate::raw::{RawCost, RawCpu};

/// The profile called `name`.
pub(crate) fn cpu(name: &str, raw: &RawCpu, context: &mut Context<'_>) -> Option<CpuProfile> {
    let quantum = context.time_above_zero(&raw.quantum, "a quantum");
    let context_switch = context.time(&raw.context_switch);
    let post = context.time(&raw.post);
    if let Some(smt) = raw.smt.as_ref().filter(|_| *raw.cores.get() == 1) {
        let message = "`smt` has no effect with one core: two are threads of one physical core";
        context.add(Problem::new(smt.place(), message).help("leave `smt` out, or set `cores`"));
    }
    let [request, send, receive, copy, encrypt, decrypt, code] =
        [&raw.request, &raw.send, &raw.receive, &raw.copy, &raw.encrypt, &raw.decrypt, &raw.code]
            .map(|raw| cost(raw, context));
    Some(CpuProfile {
        name: name.to_owned(),
        cores: u32::try_from(*raw.cores.get()).ok()?,
        smt: raw.smt.as_ref().map(|smt| *smt.get()),
        quantum: quantum?,
        context_switch: context_switch?,
        request: request?,
        send: send?,
        receive: receive?,
        copy: copy?,
        encrypt: encrypt?,
        decrypt: decrypt?,
        code: code?,
        post: post?,
    })
}

/// The cost of an operation.
pub(crate) fn cost(raw: &RawCost, context: &mut Context<'_>) -> Option<Cost> {
    let fixed = context.time(&raw.fixed);
    let rate = raw.rate.as_ref().map(|rate| context.rate(rate));
    Some(Cost { fixed: fixed?, rate: rate.map_or(Some(None), |rate| rate.map(Some))? })
}
