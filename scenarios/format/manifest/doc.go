// Package manifest reads Kubernetes objects as kubectl prints them, and kube-proxy configurations.
//
// It stands at the beginning of scenarios, on internal/document, which reads YAML and JSON. It refuses objects that the API server would
// not have accepted (unknown kinds and fields, invalid names, ports and addresses), with file, line, column and what to do about it. It
// fills in the API server's defaults for the fields that kube-proxy reads, and leaves kube-proxy's own decisions to kube-proxy.
package manifest
