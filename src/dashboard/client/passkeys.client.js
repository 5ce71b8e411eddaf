// Passkeys: the browser answers the challenge of a form, then sends it. Without this script, the page says that they need it.

for (const form of document.querySelectorAll('form[data-passkey]')) {
  form.hidden = false;
  form.nextElementSibling.hidden = true;
  const problem = form.querySelector('[data-problem-text]');
  form.addEventListener('submit', async (event) => {
    if (form.elements.credential.value !== '') return;
    event.preventDefault();
    problem.hidden = true;
    try {
      const options = JSON.parse(form.dataset.passkey);
      const credential =
        'user' in options
          ? await navigator.credentials.create({
              publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options),
            })
          : await navigator.credentials.get({
              publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options),
            });
      form.elements.credential.value = JSON.stringify(credential.toJSON());
      form.submit();
    } catch (error) {
      problem.textContent =
        error.name === 'InvalidStateError'
          ? 'This device already has a passkey for your account.'
          : 'The browser did not use a passkey. Try again, or update the browser.';
      problem.hidden = false;
    }
  });
}
