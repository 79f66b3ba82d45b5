package node

import (
	"errors"
	"strings"
)

// Name returns the name that the node has in the API: the override
// (--hostname-override) if there is one, else the host's name, without space
// around it and in lower case.
func Name(override, hostname string) (string, error) {
	name := hostname
	if override != "" {
		name = override
	}
	name = strings.ToLower(strings.TrimSpace(name))
	if name == "" {
		return "", errors.New("the node's name is empty: give it with --hostname-override")
	}
	return name, nil
}
