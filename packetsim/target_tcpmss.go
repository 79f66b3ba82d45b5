package packetsim

// mssOption is the length of TCP's option for the greatest segment.
const mssOption = 4

// addMSS is -j TCPMSS (net/netfilter/xt_TCPMSS.c). The option is taken not to be there, so that it is added to a packet without data; a
// packet that is longer is left as it is.
func addMSS(s *skb) {
	if s.Proto != TCP || s.Numbers != nil && s.Numbers.Data > 0 {
		return
	}
	headers := s.Packet
	headers.Length = 0
	if s.Length == 0 || s.Length == headers.size() {
		s.Length = headers.size() + mssOption
	}
}
