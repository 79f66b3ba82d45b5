package packetsim

import (
	"errors"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt/match"
)

var (
	errNoCgroup  = errors.New(`packet: a rule asks for the cgroup of its socket: add ",cgroup=/PATH" to the word socket`)
	errNoClassID = errors.New(`packet: a rule asks for the classid of its socket: add ",classid=N" to the word socket`)
)

// matchCgroup is -m cgroup (net/netfilter/xt_cgroup.c). A packet without a socket never matches.
func (mt *matcher) matchCgroup(s *skb, m *match.Cgroup) bool {
	socket := s.Socket
	switch {
	case socket == nil && (s.local || s.hook == input):
		mt.fail(errNoSocket)
		return false
	case socket == nil || socket.None:
		return false
	case m.HasClassID && socket.Kernel:
		return (m.ClassID == 0) != m.InvertClassID
	case m.HasClassID:
		if socket.ClassID == nil {
			mt.fail(errNoClassID)
			return false
		}
		return (*socket.ClassID == m.ClassID) != m.InvertClassID
	case isBelow("/", m.Path):
		return !m.InvertPath // every group is below the root
	case socket.Kernel:
		return m.InvertPath // its group is the root
	case socket.Cgroup == "":
		mt.fail(errNoCgroup)
		return false
	}
	return isBelow(socket.Cgroup, m.Path) != m.InvertPath
}

// isBelow says whether a control group is the one of that path or below it. The root is "" or "/".
func isBelow(group, path string) bool {
	group, path = strings.Trim(group, "/")+"/", strings.Trim(path, "/")
	return path == "" || strings.HasPrefix(group, path+"/")
}
