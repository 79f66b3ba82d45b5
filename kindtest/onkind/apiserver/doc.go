// Package apiserver runs the proxier, and the objects of the shipped scenario files, against a real API server: etcd and kube-apiserver as
// processes on loopback, built from the nested module kindtest/onkind/nodeimage/kubernetes. There is no node, no kubelet and no controller; rules
// go to a fake kernel.
//
// It is tests only. They are skipped where the programs have not been built, with the command that builds them. With CHAINWALK_APISERVER=1,
// as make apiserver-test has it, nothing is skipped, and there are more services.
package apiserver
