// Package apiserver runs the proxier, and the objects of the shipped scenario files, against a real API server: etcd and kube-apiserver as
// processes on loopback, built from the nested module kindtest/onkind/nodeimage/kubernetes. There is no node, no kubelet and no
// controller; rules go to a fake kernel.
//
// It is tests only: make apiserver-test builds the programs and runs them, with the race detector. Without CHAINWALK_APISERVER they are
// skipped.
package apiserver
