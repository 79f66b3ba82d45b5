package toolrun

import (
	"fmt"
	"strings"
)

// Diff lists two lists line by line: "  " in both, "- " the kernel's, "+ " ours.
func Diff(kernel, ours []string) string {
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
