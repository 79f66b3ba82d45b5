// Package manifest reads Kubernetes objects as kubectl prints them, and kube-proxy configurations.
//
// It stands at the beginning of scenarios, on internal/document, which knows YAML and JSON: what the API server would not have accepted is
// refused with the file, the line and the column where it is, and with what to do about it: unknown kinds and fields, names, ports and
// addresses that cannot be. The API server's defaults are filled in, for the fields that kube-proxy reads. What kube-proxy itself
// decides is left to it.
package manifest
