// Package gather takes what is known of a running cluster from the cluster itself: objects from the API server, and a NodeSnapshot of each
// node, which a pod prints that runs there for a moment.
//
// It stands before package live on the project's line: what it gathers is what "chainwalk doctor -f ... --node ..." reads from files, and a
// Folder keeps it as such files.
//
// It asks for the least rights that suffice. Rights lists them, and whatever the API server refuses is said with the rule of RBAC that
// grants it. It looks before it makes anything whether it may remove it again. The pods are named before they are made, have a deadline of
// their own, and are removed whatever happens, also after an interrupt; Clean removes those of a run that was killed.
//
// Secrets are never read. Of pods the environment, the commands and the volumes are dropped, of ConfigMaps all but
// kube-proxy's configuration.
package gather
