//go:build upstream_1_36

package peers

// Minor is the version of kube-proxy that is linked: 1.Minor.
const Minor = 36
