//! Processor time and memory of processes, as the system counts them.

use crate::Result;

/// Seconds of all processors that a process has used; `self` names this one.
pub(crate) fn processor_seconds(process: &str) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name in parentheses may have spaces.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>()? + fields[12].parse::<u64>()?;
    // Linux counts in hundredths wherever it runs.
    Ok(ticks as f64 / 100.0)
}

/// The most memory, in MB, that this process has had.
pub(crate) fn peak_megabytes() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? * 1024.0 / 1e6)
}
