/** The first second in which no token of before was issued: tokens count whole seconds, and this one may have seen some. */
export function nextSecond(last = 0): number {
  return Math.max(Math.floor(Date.now() / 1000), last) + 1;
}
