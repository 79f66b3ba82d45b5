package fakenft

import "github.com/chainwalk/chainwalk/internal/libc"

// libcNames are the names that the C library looks up.
func (r *run) libcNames() *libc.Names {
	if r.names == nil {
		r.names = libc.NewNames(r.tools.options.Etc)
	}
	return r.names
}

func (r *run) deviceName(number uint32) (string, bool) {
	return r.tools.deviceName(number)
}

func (r *run) userName(number uint32) (string, bool) { return r.libcNames().UserName(number) }

func (r *run) groupName(number uint32) (string, bool) { return r.libcNames().GroupName(number) }
