// Package nodeimage builds a node image for kind from Debian packages and Go modules alone, for machines that cannot pull one.
//
// Everything that a node runs beyond Debian's packages is built here: Kubernetes and etcd from the nested module kubernetes, which
// chainwalk's own never imports, the container's first process (entrypoint) and the process that holds a pod's namespaces (pause). The
// control plane's images are made of these binaries (archive.go) and imported into containerd under the names that kubeadm asks for.
//
// Not in the image: CoreDNS (skip kubeadm's phase addon/coredns), a network plugin's configuration (disableDefaultCNI), a provisioner of
// volumes, kube-proxy (Binaries builds it).
//
// It needs Linux with debootstrap, root and a Docker engine; command engine starts one if a machine has only the package, and command
// runtime is for machines whose capability bounding set lacks capabilities that Docker's --privileged asks for.
package nodeimage

// kubernetesVersion is that of the nested module kubernetes, and one of those that proxier/upstream links.
const kubernetesVersion = "v1.36.3"

// Tag is the name of the image that Build makes.
const Tag = "chainwalk/node:" + kubernetesVersion
