/** Whether a text is an absolute URL of HTTP or HTTPS. */
export const isHttpUrl = (text: string): boolean =>
  /^https?:$/.test(URL.parse(text)?.protocol ?? '');
