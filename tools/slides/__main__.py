from tools.slides.build import main

raise SystemExit(main())
