// Package programs runs other people's firewall programs on the real iptables tools and on the fake ones at once, and compares every
// call. The programs come unchanged from Debian, and kube-proxy from Kubernetes.
//
// A program runs in its own namespaces, over an installation of Debian that it cannot change. Instead of the tools it finds the
// recorder, which runs the real tool in the namespace and the fake tool over a folder, both with the same arguments and the same input.
// The program gets the answer of the real tool. So both kernels see the same calls, and their state at the end of each phase
// is compared too.
//
// A life is a shell script in the folder lives. Its command "phase NAME" ends a phase: what the tools save of the rules of both families
// and dialects, and of the sets, is compared there.
//
// A difference is explained only by a reason, which is a predicate over both answers (reason.go); whatever no reason explains is printed.
//
// The machine's own rules, daemons, settings and files are out of reach of the programs. What they do with nft alone is not compared.
package programs
