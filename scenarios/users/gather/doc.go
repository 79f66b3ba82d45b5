// Package gather takes the state of a running cluster from the cluster itself: objects from the API server, and a NodeSnapshot of each
// node, which a short-lived pod there prints.
//
// It stands before package live on the project's line: a Folder keeps the result as the files that "chainwalk doctor -f ... --node ..."
// reads.
//
// It asks for the least rights that suffice. Rights lists them, and whatever the API server refuses is said with the rule of RBAC that
// grants it. Before it makes anything, it checks that it may remove it again. The pods are named before they are made, have a deadline of
// their own, and are removed whatever happens, also after an interrupt; Clean removes those of a run that was killed.
//
// Secrets are never read. Of pods the environment, the commands and the volumes are dropped, of ConfigMaps all but
// kube-proxy's configuration.
package gather
