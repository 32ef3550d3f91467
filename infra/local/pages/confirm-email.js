/* Confirms a new address with the key of a mailed link. */

const form = document.querySelector('form');
const status = document.querySelector('[role=status]');

// Not before a click: programs that scan mail open its links.
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const key = new URLSearchParams(location.search).get('key');
  const response = await fetch('/api/account/confirm-email', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ key }),
  });
  form.hidden = response.ok;
  if (response.ok) {
    status.textContent = 'Your new address is confirmed.';
    return;
  }
  const { message, title = message, detail } = await response.json();
  status.textContent = [title, detail].filter(Boolean).join('. ');
});
