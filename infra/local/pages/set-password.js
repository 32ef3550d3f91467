/* Sets a password with the key of a mailed link. */

const form = document.querySelector('form');
const status = document.querySelector('[role=status]');

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const key = new URLSearchParams(location.search).get('key');
  const newPassword = form.querySelector('input').value;
  const response = await fetch('/api/account/reset-password/finish', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ key, newPassword }),
  });
  form.hidden = response.ok;
  if (response.ok) {
    status.textContent = 'Your password is set. You can log in with it now.';
    return;
  }
  const { message, title = message, detail, fieldErrors = [] } = await response.json();
  const fields = fieldErrors.map(
    ({ field, message, min, max }) =>
      `${field}: ${message}${min === undefined ? '' : `, from ${min} to ${max}`}`,
  );
  status.textContent = [title, detail, ...fields].filter(Boolean).join('. ');
});
