"""What rules ask while the graph is built: paths, inputs, outputs, settings, resources."""
