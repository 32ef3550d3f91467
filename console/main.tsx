const heading = document.createElement('h1');
heading.textContent = 'Gatehouse';
document.querySelector('main')?.append(heading);
