// Command kubernetes is etcd, the control plane of Kubernetes and kubelet in one binary, so that what
// they share is compiled and linked once. The first argument picks the program:
//
//	kubernetes kube-apiserver --etcd-servers=...
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

var commands = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllermanager.NewControllerManagerCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kubelet":                 func() *cobra.Command { return newKubelet(kubelet.NewKubeletCommand) },
}

// Before 1.34 it takes no context.
func newKubelet(command any) *cobra.Command {
	if before, is := command.(func() *cobra.Command); is {
		return before()
	}
	return command.(func(context.Context) *cobra.Command)(context.Background())
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: kubernetes etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kubelet [flags]")
		os.Exit(64)
	}
	os.Args = os.Args[1:]
	if os.Args[0] == "etcd" {
		etcdmain.Main(os.Args)
		return
	}
	newCommand, known := commands[os.Args[0]]
	if !known {
		fmt.Fprintf(os.Stderr, "kubernetes: no program %q in this binary\n", os.Args[0])
		os.Exit(64)
	}
	os.Exit(cli.Run(newCommand()))
}
