// Package toolexec runs the tools of a fake kernel as programs: with standard streams, pipes, a context and exit statuses, as
// k8s.io/utils/exec has them. The tools themselves are in the packages of their languages.
package toolexec
