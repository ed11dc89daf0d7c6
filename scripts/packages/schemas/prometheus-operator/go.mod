module ratoon.dev/test-schemas/prometheus-operator

go 1.25

require github.com/prometheus-operator/prometheus-operator v0.85.0
