// Package worker is the bridge between a program of the playground and the Web Worker that it runs in: JSON in, JSON out,
// one call at a time.
package worker
