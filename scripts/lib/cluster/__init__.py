"""A real Kubernetes on one machine, see scripts/cluster."""
