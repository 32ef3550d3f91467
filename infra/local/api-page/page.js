/* The page of the API reference: signs in, and sends the token with every request that is tried. */

let token;

globalThis.SwaggerUIBundle({
  url: '/api/openapi.json',
  dom_id: '#api',
  deepLinking: true,
  docExpansion: 'list',
  tryItOutEnabled: true,
  validatorUrl: null,
  requestInterceptor(request) {
    if (token && !request.loadSpec) request.headers.Authorization = `Bearer ${token}`;
    return request;
  },
});

const form = document.querySelector('#log-in');
const output = form.querySelector('output');

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const { username, password } = Object.fromEntries(new FormData(form));
  const response = await fetch('/api/authenticate', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ username, password }),
  });
  const { id_token, detail, title, message } = await response.json();
  token = id_token;
  output.value = response.ok ? `Logged in as ${username}` : `${response.status} ${detail ?? title ?? message}`;
});
