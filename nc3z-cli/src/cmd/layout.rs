pub(crate) fn run(_: &crate::args::ReportArgs) -> anyhow::Result<crate::exit::Exit> { todo!() }
