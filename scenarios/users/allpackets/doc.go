// Package allpackets tells people the fates of all packets: how two hosts differ (Compare), and which of a cluster's nodes is odd (Across).
// Each answer has likely packets with the names of their ends, both fates, and the rules that decide, from walks that confirm what package
// forall has worked out.
package allpackets
