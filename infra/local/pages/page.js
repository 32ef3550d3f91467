/* The page of the API reference: signs in, and sends the token with every request that is tried. */

let token;

const darkScheme = matchMedia('(prefers-color-scheme: dark)');
const applyScheme = () =>
  document.documentElement.classList.toggle('dark-mode', darkScheme.matches);
applyScheme();
darkScheme.addEventListener('change', applyScheme);

/** The field of a filter such as `login.contains`; undefined for other parameters. */
const filteredField = (parameter) =>
  parameter.get('in') === 'query' ? /^(.+)\.\w+$/.exec(parameter.get('name'))?.[1] : undefined;

/**
 * Wraps the parameters of an operation: lists have up to a hundred filters, of which it shows those
 * of chosen fields. A field cannot be hidden again, because its values would still be sent.
 */
const chosenFilters = (Parameters, { React }) =>
  function ChosenFilters(props) {
    const [chosen, setChosen] = React.useState([]);
    const fields = [...new Set(props.parameters.map(filteredField))].filter(
      (field) => field !== undefined,
    );
    const isShown = (parameter) => [...chosen, undefined].includes(filteredField(parameter));
    const addButton = (field) =>
      React.createElement(
        'button',
        {
          key: field,
          type: 'button',
          className: 'btn btn-sm',
          onClick: () => setChosen([...chosen, field]),
        },
        field,
      );
    const others = fields.filter((field) => !chosen.includes(field));
    return React.createElement(
      React.Fragment,
      null,
      React.createElement(Parameters, { ...props, parameters: props.parameters.filter(isShown) }),
      others.length > 0 &&
        React.createElement(
          'div',
          { className: 'filters', role: 'group', 'aria-label': 'Filters' },
          React.createElement('span', null, 'Filter by'),
          others.map(addButton),
        ),
    );
  };

globalThis.SwaggerUIBundle({
  url: '/api/openapi.json',
  dom_id: '#api',
  deepLinking: true,
  docExpansion: 'list',
  tryItOutEnabled: true,
  validatorUrl: null,
  plugins: [{ wrapComponents: { parameters: chosenFilters } }],
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
  output.value = response.ok
    ? `Logged in as ${username}`
    : `${response.status} ${detail ?? title ?? message}`;
});
