// Package programs runs firewall programs that nobody here wrote on the real iptables tools and on the fake ones at once, and compares each
// call that they make. The programs are Debian's own, unchanged, and Kubernetes' kube-proxy.
//
// A program lives in namespaces of its own, over an installation of Debian that it cannot change. In the place of the tools it finds the
// recorder, which runs the real tool in the namespace and the fake tool over a folder, both with the same arguments and the same input.
// The program gets the real tool's answer. So both kernels have lived through the same calls, and what they hold at the end of each phase
// of the life is compared too.
//
// A life is a shell script in the folder lives. Its command "phase NAME" ends a phase: what the tools save of the rules of both families
// and dialects, and of the sets, is compared there.
//
// A difference is explained only by a reason, which is a predicate over both answers (reason.go); whatever no reason explains is printed.
//
// The machine's own rules, daemons, settings and files are out of reach of the programs. What they do with nft alone is not compared.
package programs
