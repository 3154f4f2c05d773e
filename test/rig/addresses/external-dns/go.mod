module berth.test/external-dns

go 1.27.0

require sigs.k8s.io/external-dns v0.23.0

require github.com/gogo/protobuf v1.3.2 // indirect


replace github.com/openshift/api => github.com/openshift/api v0.0.0-20251015095338-264e80a2b6e7
