"""Tables and figures of the papers, with the published values beside ours."""
