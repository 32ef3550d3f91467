import { retryingFetch } from './retrying-fetch.ts';

/** After 401, repeats a request once with a new token: a rejected request has changed nothing. */
export function authenticatedFetch(
  firstToken: string,
  newToken: () => Promise<string>,
): typeof fetch {
  const send = retryingFetch();
  let token = firstToken;
  return async (input, init) => {
    const request = new Request(input, init);
    const sendWithToken = () => {
      const copy = request.clone();
      copy.headers.set('Authorization', `Bearer ${token}`);
      return send(copy);
    };
    const response = await sendWithToken();
    if (response.status !== 401) return response;
    await response.body?.cancel();
    token = await newToken();
    return sendWithToken();
  };
}
