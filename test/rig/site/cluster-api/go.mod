module berth.test/cluster-api

go 1.26.0

require sigs.k8s.io/cluster-api v1.14.2
