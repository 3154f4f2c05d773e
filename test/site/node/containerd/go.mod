module berth.test/containerd

go 1.26.0
