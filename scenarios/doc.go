// Package scenarios says whether a cluster's service traffic goes where it
// should: a scenario is one YAML file with a topology, a kube-proxy
// configuration, Kubernetes objects and steps with expectations.
//
// It stands at the end of the project's line. The same file runs on every
// Backend: in memory (package sim), and where they are linked in, on a real
// kernel and in a kind cluster. The package does not depend on a proxier or on
// rules: it resolves a file into a Cluster, drives a Session through the steps
// and judges the ways that packets went (Observed) by the expectations.
//
// A Go program can also make scenarios (manifest.New, NewKubeProxy) and run them without a file.
// Write writes any of them as a file that reads back the same. ExpectOf turns what the oracle allows
// into an expectation.
//
// Files are read strictly. Unknown fields, words that no step has, chances that
// do not sum to one, names of machines that are not there: all of these are
// errors with file, line and column when the file is loaded, before anything
// runs. The format is documented in docs/scenarios.md; Schema gives its JSON Schema.
package scenarios
