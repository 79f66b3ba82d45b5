// Package nfacct reads and makes the kernel's named counters (nfacct objects)
// over netlink, without the nfacct tool.
//
// It stands beside the line of package proxier: rules with -m nfacct count into
// objects that must exist before the rules are restored, and metrics read them.
// Objects with a quota are listed like others, but not made; nothing is reset or
// deleted.
package nfacct
