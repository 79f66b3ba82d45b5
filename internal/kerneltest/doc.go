// Package kerneltest is for tests on the real kernel: it decides whether they may run, and gives them a network namespace of their own.
//
// They run if CHAINWALK_KERNEL is 1. Then nothing is skipped: without root, or without a tool, a test fails and says what to install.
// Without the variable, or with an empty one, the tests are skipped. Any other value is a failure, since its
// meaning is unclear.
package kerneltest
