// Package browser tests the review page in Chromium, by keyboard. It is a module of its own, so that the program does
// not depend on what drives the browser.
package browser
