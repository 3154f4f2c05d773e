module berth.test/kube-state-metrics

go 1.26.0

require k8s.io/kube-state-metrics/v2 v2.18.0
