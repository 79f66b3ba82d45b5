package playground

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// quiet is the share of the processors that others may have for a time to say something of the page.
const quiet = 0.1

// processors is what the processors of this machine have done so far, in ticks. The zero value is of a system that does not tell it.
type processors struct {
	all  float64 // of all processors together
	idle float64
	own  float64 // of this process and those that it has started, as the browser
}

// processorsNow asks the system.
func processorsNow() (p processors) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return p
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for i, word := range strings.Fields(line)[1:] {
		if i == 8 {
			break // the next two are in the first two
		}
		ticks, _ := strconv.ParseFloat(word, 64)
		p.all += ticks
		if i == 3 || i == 4 { // idle, and waiting for a disk
			p.idle += ticks
		}
	}
	p.own = ownTicks()
	return p
}

// ownTicks is what this process and those below it have used.
func ownTicks() (sum float64) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	parents, used := map[int]int{}, map[int]float64{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		words := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		parents[pid], _ = strconv.Atoi(words[1])
		for _, word := range words[11:15] { // utime, stime, and of the children that have ended
			ticks, _ := strconv.ParseFloat(word, 64)
			used[pid] += ticks
		}
	}
	for pid := range parents {
		for at := pid; at > 0; at = parents[at] {
			if at == os.Getpid() {
				sum += used[pid]
				break
			}
		}
	}
	return sum
}

// others is the share of the processors that others have had since, from 0 to 1.
func (p processors) others() float64 {
	now := processorsNow()
	if now.all <= p.all {
		return 0
	}
	return max(0, (now.all-p.all)-(now.idle-p.idle)-(now.own-p.own)) / (now.all - p.all)
}
