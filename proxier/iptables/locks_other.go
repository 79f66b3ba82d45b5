//go:build !linux

package iptables

import "errors"

var errNoLocks = errors.New("not supported: locks of iptables on a system other than Linux: install iptables 1.6.2 or later")

func lockFile(string) (release func(), err error) { return nil, errNoLocks }

func bindSocket(string) (release func(), err error) { return nil, errNoLocks }
