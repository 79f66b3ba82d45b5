package toolrun

import (
	"fmt"
	"strings"
)

// mostLines is how many lines Diff compares; of longer lists it shows what differs first.
const mostLines = 400

// Diff lists two lists line by line: "  " in both, "- " the kernel's, "+ " ours. Of what is the same at the beginning of long lists only
// the end is shown.
func Diff(kernel, ours []string) string {
	same := 0
	for same < min(len(kernel), len(ours)) && kernel[same] == ours[same] {
		same++
	}
	skipped := max(0, same-mostLines/4)
	if len(kernel)+len(ours) > mostLines && skipped > 0 {
		kernel, ours = kernel[skipped:], ours[skipped:]
		return fmt.Sprintf("  (%d lines that are the same)\n", skipped) + Diff(kernel, ours)
	}
	if len(kernel)+len(ours) > mostLines {
		kernel, ours = kernel[:min(len(kernel), mostLines/2)], ours[:min(len(ours), mostLines/2)]
	}
	common := make([][]int, len(kernel)+1)
	for i := range common {
		common[i] = make([]int, len(ours)+1)
	}
	for i := len(kernel) - 1; i >= 0; i-- {
		for k := len(ours) - 1; k >= 0; k-- {
			if kernel[i] == ours[k] {
				common[i][k] = common[i+1][k+1] + 1
			} else {
				common[i][k] = max(common[i+1][k], common[i][k+1])
			}
		}
	}
	var b strings.Builder
	i, k := 0, 0
	for i < len(kernel) || k < len(ours) {
		switch {
		case i < len(kernel) && k < len(ours) && kernel[i] == ours[k]:
			fmt.Fprintf(&b, "  %s\n", kernel[i])
			i, k = i+1, k+1
		case k == len(ours) || i < len(kernel) && common[i+1][k] >= common[i][k+1]:
			fmt.Fprintf(&b, "- kernel %s\n", kernel[i])
			i++
		default:
			fmt.Fprintf(&b, "+ ours   %s\n", ours[k])
			k++
		}
	}
	return b.String()
}
